import { defineConfig } from "vite";

// Fixed names: the server sends them with `no-store`, and the wheel holds one build.
export default defineConfig({
  base: "./",
  esbuild: { jsx: "automatic", jsxImportSource: "preact" },
  build: {
    outDir: "../src/bough/interfaces/web/static",
    emptyOutDir: true,
    modulePreload: false,
    assetsDir: "",
    assetsInlineLimit: 0,
    rollupOptions: {
      output: { entryFileNames: "app.js", assetFileNames: "app[extname]", inlineDynamicImports: true },
    },
  },
});
