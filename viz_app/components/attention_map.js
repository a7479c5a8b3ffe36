// @ts-check
import { drawMap } from "../../core/drawing/map.js";
import { attentionComponent } from "./attention_renderer.js";

export default attentionComponent(drawMap);
