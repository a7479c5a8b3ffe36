// The part of Streamlit's component API (v2) that the drawings use.

interface StreamlitComponent<Data> {
  data: Data;
  /** Shadow root that holds the component's HTML. */
  parentElement: ShadowRoot;
  /** Send a value to Python for one run of the page. */
  setTriggerValue(name: string, value: unknown): void;
}

/** What a drawing gets, see `component` in renderer.js. */
export interface Component<Data> extends StreamlitComponent<Data> {
  /** The element to draw into. */
  root: HTMLElement;
  /** Dataset of its element that has the focus. */
  focused?: DOMStringMap;
}

/** Draws a component, again whenever its data change. Returns a function that cleans up. */
export type Renderer<Data, Given = StreamlitComponent<Data>> = (component: Given) => void | (() => void);
