import { join } from 'node:path'
import { root } from './run.mjs'

/**
 * Bundles the service and the operator's commands into `folder`, with their libraries: Node finds and reads one file
 * three times as fast as hundreds. The service, with what only it needs, is a separate file: no command loads it, nor
 * does the start of the cluster.
 */
export async function buildService(folder) {
  const { build } = await import('esbuild')
  const entries = (...files) => files.map((file) => join(root, 'src', file))
  await build({
    ...options(folder),
    splitting: true,
    entryPoints: entries(
      'main.ts',
      'cli/service-commands.ts',
      'postgres/cluster/find-binaries.ts',
      'query/programs/write-parquet.mjs',
      'query/programs/write-topojson.mjs',
      'query/programs/write-arraybuffer.mjs',
      'maps/programs/check-style.mjs',
    ),
  })
  // One file: its sandbox sees nothing else of the service.
  await build({ ...options(folder), entryPoints: entries('imports/programs/read-columns.mjs') })
}

const options = (folder) => ({
  absWorkingDir: root,
  outbase: join(root, 'src'),
  outdir: folder,
  chunkNames: 'chunks/[name]-[hash]',
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  sourcemap: true,
  // The first two read files beside them, the third is not installed.
  external: ['@fastify/swagger-ui', 'parquet-wasm', 'pg-native'],
  // pg checks by this name whether it runs at Cloudflare. The check would load Node's HTTP client, a tenth of a start.
  define: { Response: 'undefined' },
  banner: { js: commonJs },
  logLevel: 'warning',
})

/** What libraries in CommonJS need. */
const commonJs = `import { createRequire as makeRequire } from 'node:module'
const require = makeRequire(import.meta.url)
const { filename: __filename, dirname: __dirname } = import.meta`
