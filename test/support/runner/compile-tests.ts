import { readFile, symlink } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build, type Plugin, stop } from 'esbuild'
import { scripts } from '../service/script.ts'

const root = join(import.meta.dirname, '../../..')

/**
 * Compiles test files and scripts with all their imports, once for all processes of a run: a process that compiles and
 * finds every module itself starts two seconds later. Returns where a file's compiled form is.
 */
export async function compileTests(
  files: readonly string[],
  into: string,
): Promise<(file: string) => string> {
  await build({
    entryPoints: [...files, ...scripts.map((script) => join(root, script))],
    outdir: into,
    outbase: root,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    // A module that two files share is loaded once, so that they share its services.
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    external: [...readFilesBesideThem, 'pg-native'],
    banner: { js: commonJs },
    plugins: [asInPlace, withoutMaps],
    sourcemap: true,
    sourcesContent: false,
    logLevel: 'error',
  })
  await stop()
  await symlink(join(root, 'node_modules'), join(into, 'node_modules'))
  return (file) => join(into, relative(root, file).replace(/\.ts$/, '.mjs'))
}

/** Libraries that look for their own files. */
const readFilesBesideThem = [
  '@fastify/swagger-ui',
  '@seriousme/openapi-schema-validator',
  'cartage',
  'esbuild',
  'libpg-query',
  'parquet-wasm',
  'playwright-core',
]

/** What libraries in CommonJS need. */
const commonJs = `import { createRequire as makeRequire } from 'node:module'
const require = makeRequire(import.meta.url)
const { filename: __filename, dirname: __dirname } = import.meta`

/** Every process reads the source maps at its start, and most of their bytes are libraries. */
const withoutMaps: Plugin = {
  name: 'without maps of libraries',
  setup({ onLoad }) {
    const map = Buffer.from('{"version":3,"sources":[""],"mappings":"A"}').toString('base64')
    onLoad({ filter: /\/node_modules\/.*\.[cm]?js$/ }, async ({ path }) => ({
      contents: `${await readFile(path, 'utf8')}\n//# sourceMappingURL=data:application/json;base64,${map}`,
      loader: 'js',
    }))
  },
}

/** A module finds other files relative to its source. Only TypeScript is compiled to another place. */
const asInPlace: Plugin = {
  name: 'as in place',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /^\..*\.mjs$/ }, ({ path, resolveDir }) => ({
      path: pathToFileURL(join(resolveDir, path)).href,
      external: true,
    }))
    onLoad({ filter: /\.ts$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8')
      if (!text.includes('import.meta.')) return undefined
      const contents = text
        .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href))
        .replaceAll('import.meta.dirname', JSON.stringify(dirname(path)))
      return { contents, loader: 'ts' }
    })
  },
}
