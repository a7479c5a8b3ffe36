// @ts-check
import { drawMap } from "../../core/drawing/map.js";
import { attentionComponent } from "./shared.js";

export default attentionComponent(drawMap);
