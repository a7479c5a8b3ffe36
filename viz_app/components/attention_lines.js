// @ts-check
import { drawLines } from "../../core/drawing/lines.js";
import { attentionComponent } from "./shared.js";

export default attentionComponent(drawLines);
