import js from "@eslint/js";
import globals from "globals";

export default [
  { ignores: ["viz_app/drawing/vendor/", ".venv/"] },
  js.configs.recommended,
  {
    languageOptions: { globals: globals.browser },
    rules: {
      eqeqeq: ["error", "always", { null: "ignore" }],
      "no-var": "error",
      "prefer-const": "error",
      "object-shorthand": "error",
      "arrow-body-style": "off",
    },
  },
];
