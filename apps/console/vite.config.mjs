import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { defineConfig } from 'vite';

const COMPRESSED = /\.(js|css|html|svg)$/;

export default defineConfig({
  base: '/console/',
  build: {
    outDir: '../../dist/console',
    emptyOutDir: true,
    target: 'es2022',
    // The content security policy allows no data: URL but for images, and one rule for all files is simpler.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
  plugins: [precompressed()],
});

/** Writes a .gz and a .br beside each text file, so that the api sends files as they are and compresses nothing. */
function precompressed() {
  let folder;
  return {
    name: 'precompressed',
    apply: 'build',
    configResolved(config) {
      folder = path.resolve(config.root, config.build.outDir);
    },
    closeBundle() {
      for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
        const file = path.join(entry.parentPath, entry.name);
        if (!entry.isFile() || !COMPRESSED.test(file)) continue;
        const content = readFileSync(file);
        writeFileSync(`${file}.gz`, gzipSync(content, { level: 9 }));
        writeFileSync(`${file}.br`, brotliCompressSync(content));
      }
    },
  };
}
