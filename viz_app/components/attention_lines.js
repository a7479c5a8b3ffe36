// @ts-check
import { drawLines } from "../../core/drawing/lines.js";
import { attentionComponent } from "./attention_renderer.js";

export default attentionComponent(drawLines);
