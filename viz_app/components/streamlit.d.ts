// The part of Streamlit's component API (v2) that the drawings use.

export interface Component<Data> {
  data: Data;
  /** Shadow root that holds the component's HTML. */
  parentElement: ShadowRoot;
  /** Send a value to Python for one run of the page. */
  setTriggerValue(name: string, value: unknown): void;
}

/** Draws a component, again whenever its data change. Returns a function that cleans up. */
export type Renderer<Data> = (component: Component<Data>) => void | (() => void);
