// The part of anywidget's interface that the widgets use.

export interface Model<Traits> {
  get<Name extends keyof Traits & string>(name: Name): Traits[Name];
  set<Name extends keyof Traits & string>(name: Name, value: Traits[Name]): void;
  on(event: `change:${keyof Traits & string}`, handle: () => void): void;
  off(event: `change:${keyof Traits & string}`, handle: () => void): void;
  save_changes(): void;
}

/** Draws a model into an element; returns what to call when the element is removed. */
export type Render<Traits> = (context: { model: Model<Traits>; el: HTMLElement }) => () => void;

declare global {
  /** Style sheet of the widget, put in front of its script. */
  const STYLE: string;
}
