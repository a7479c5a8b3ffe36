// @ts-check
// A grid of cells with colours of their own.

/** @import { GridData } from "../../core/drawing/grid.js" */
/** @import { Component } from "./streamlit" */

import { drawGrid } from "../../core/drawing/grid.js";
import { select } from "./linked_words.js";
import { component, rootOf } from "./renderer.js";

export default component(
  (/** @type {Component<GridData & { clickable: boolean }>} */ { data, parentElement, setTriggerValue }) => {
    const send = (/** @type {number} */ row, /** @type {number} */ column) => setTriggerValue("cell", { row, column });
    drawGrid(rootOf(parentElement), data, { onCell: data.clickable ? send : null, onWord: select });
  },
);
