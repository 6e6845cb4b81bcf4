import react from '@vitejs/plugin-react';
import { defineConfig } from 'vitest/config';

// The server embeds `dist` by name: no hashes, everything flat in assets/. Three vendor chunks change only when a dependency does.
const VENDORS: [string, RegExp][] = [
  ['flow', /node_modules[\\/](@xyflow|d3-[a-z]+|classcat)[\\/]/],
  ['code', /node_modules[\\/](@codemirror|@lezer|@marijn|crelt|style-mod|w3c-keyname|yaml)[\\/]/],
  ['charts', /node_modules[\\/]uplot[\\/]/],
  ['react', /node_modules[\\/]/],
];

export default defineConfig({
  base: '/',
  plugins: [react()],
  publicDir: false,
  build: {
    outDir: 'dist',
    assetsDir: 'assets',
    sourcemap: false,
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    target: ['chrome125', 'firefox128', 'safari18'],
    cssTarget: ['chrome125', 'firefox128', 'safari18'],
    chunkSizeWarningLimit: 1200,
    rolldownOptions: {
      input: 'index.html',
      output: {
        entryFileNames: 'assets/main.js',
        chunkFileNames: 'assets/[name].js',
        // The entry's styles are named after index.html otherwise.
        assetFileNames: ({ names }) => (names[0] === 'index.css' ? 'assets/main.css' : 'assets/[name][extname]'),
        codeSplitting: {
          groups: VENDORS.map(([name, test], at) => ({ name, test, priority: VENDORS.length - at })),
        },
      },
    },
  },
  worker: {
    format: 'es',
    rolldownOptions: { output: { entryFileNames: 'assets/[name].js', chunkFileNames: 'assets/[name].js' } },
  },
  server: { port: 5173, proxy: proxy() },
  preview: { port: 4173, proxy: proxy() },
  // The usual five seconds are too few for hundreds of random graphs on a machine that also compiles.
  test: { environment: 'happy-dom', testTimeout: 30_000, include: ['src/**/*.test.ts', 'src/**/*.test.tsx'] },
});

/** PAWL is the address of a running server. The Origin is dropped: `pawl dev` refuses requests of other sites, and to it this is one. */
function proxy() {
  const target = process.env.PAWL ?? 'http://127.0.0.1:8080';
  const one = {
    target,
    changeOrigin: true,
    configure: (server: { on: (event: 'proxyReq', act: (request: { removeHeader: (name: string) => void }) => void) => void }) => {
      server.on('proxyReq', (request) => {
        request.removeHeader('origin');
        request.removeHeader('referer');
        request.removeHeader('sec-fetch-site');
      });
    },
  };
  return { '/api': one, '/webhook': one, '/health': one, '/metrics': one };
}
