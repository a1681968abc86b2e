import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { sampleCountries, worldMap } from './build-basemap.mjs'
import { places } from './build-places.mjs'
import { oneAtATime } from './one-at-a-time.mjs'
import { root, say } from './run.mjs'

const source = join(root, 'console')
const made = join(root, 'dist/console')
const stampName = 'sources.sha256'

/** Builds only dist/console, if console/ has changed: for development. */
export async function provideConsole() {
  if (isConsoleBuilt()) return
  await oneAtATime(async () => {
    if (isConsoleBuilt()) return
    say('building dist/console')
    rmSync(`${made}.new`, { recursive: true, force: true })
    await buildConsole(`${made}.new`)
    rmSync(made, { recursive: true, force: true })
    renameSync(`${made}.new`, made)
  })
}

/** Everything that the console is built from, for the stamp of the build. */
export function consoleSources() {
  const code = readdirSync(source, { recursive: true })
    .filter((path) => /\.(tsx?|css|html|json)$/.test(path))
    .map((path) => join('console', path))
  const texts = ['README.md', ...guideFiles()].map((path) => join('docs', path))
  return [...code, ...texts].sort()
}

/**
 * Bundles console/ into `folder`: `index.html`, `map.html` and `dashboard.html` (the pages of a named map and a
 * dashboard), `assets/` with hashed names, each also compressed, and `sizes.json`.
 */
export async function buildConsole(folder) {
  const { build } = await import('esbuild')
  const stamp = hashConsole()
  const { metafile, outputFiles } = await build({
    ...shared,
    entryPoints: ['main.tsx', 'map-page/page.tsx', 'dashboard-page/page.tsx'].map((path) =>
      join(source, path),
    ),
    outdir: join(folder, 'assets'),
    splitting: true,
    write: false,
    metafile: true,
    plugins: [sharedFiles, textStyles, workers, geodata, guide],
  })
  mkdirSync(join(folder, 'assets'), { recursive: true })
  for (const { path, contents } of outputFiles) writeWithCompressed(path, contents)
  const outputs = listOutputs(metafile, outputFiles)
  writeWithCompressed(join(folder, 'index.html'), Buffer.from(indexPage(outputs)))
  for (const what of ['map', 'dashboard'])
    writeFileSync(join(folder, `${what}.html`), sharedPage(outputs, what))
  writeFileSync(join(folder, 'sizes.json'), JSON.stringify(outputs, null, 2))
  writeFileSync(join(folder, stampName), stamp)
}

function isConsoleBuilt() {
  try {
    return readFileSync(join(made, stampName), 'utf8') === hashConsole()
  } catch {
    return false
  }
}

function hashConsole() {
  const shared = ['client', 'contract', 'file-import', 'sql-text']
    .flatMap((part) =>
      readdirSync(join(root, 'src', part), { recursive: true }).map((path) => join('src', part, path)),
    )
    .filter((path) => path.endsWith('.ts'))
  const hash = createHash('sha256')
  for (const path of [
    ...consoleSources(),
    ...shared.sort(),
    'package-lock.json',
    'scripts/build-basemap.mjs',
    'scripts/build-console.mjs',
    'scripts/build-places.mjs',
  ])
    hash.update(`${path}\0`).update(readFileSync(join(root, path)))
  return hash.digest('hex')
}

const shared = {
  absWorkingDir: root,
  bundle: true,
  format: 'esm',
  target: ['chrome125', 'firefox128', 'safari18'],
  jsx: 'automatic',
  jsxImportSource: 'preact',
  minify: true,
  legalComments: 'none',
  entryNames: '[name]-[hash]',
  chunkNames: '[name]-[hash]',
  assetNames: '[name]-[hash]',
  logLevel: 'warning',
}

/**
 * Code loaded later uses all of core.ts, and all but the page of a map uses all of shared.ts, so their shared code is
 * two files: esbuild makes a file for each set of entries that share something, which would be many requests.
 */
const sharedFiles = {
  name: 'shared-files',
  setup(build) {
    build.onLoad(
      {
        filter:
          /\/console\/.+\/(page|overlays|invitation|more-commands|map-view|table-map|small-map|chart-view|changes-view|result-statistics|only-these-rows|plan-view|cell-panel|open-session|part-map|part-chart|editor)\.tsx?$/,
      },
      ({ path }) => {
        const names = /\/(map-page|frame)\//.test(path) ? ['core'] : ['core', 'shared']
        const uses = names.map((name) => {
          const file = relative(dirname(path), join(source, `${name}.ts`))
          return `import * as ${name} from '${file}'\nexport { ${name} }\n`
        })
        return { contents: `${readFileSync(path, 'utf8')}\n${uses.join('')}`, loader: 'tsx' }
      },
    )
  },
}

/** `import css from './page.css' with { type: 'text' }`: the styles of a page are loaded with its code. */
const textStyles = {
  name: 'text-styles',
  setup(build) {
    build.onLoad({ filter: /\.css$/ }, async ({ path, with: attributes }) => {
      if (attributes.type !== 'text') return undefined
      const { code } = await build.esbuild.transform(readFileSync(path, 'utf8'), {
        loader: 'css',
        minify: true,
      })
      return { contents: code, loader: 'text' }
    })
  },
}

/** `import url from 'worker:./result-worker.ts'`: a worker is a separate bundle in one file. */
const workers = {
  name: 'workers',
  setup(build) {
    build.onResolve({ filter: /^worker:/ }, async ({ path, resolveDir, kind }) => {
      const found = await build.resolve(path.slice('worker:'.length), { resolveDir, kind })
      // The name of the built file.
      return {
        path: found.path.replace(/\.\w+$/, '.js'),
        namespace: 'worker',
        pluginData: found.path,
        errors: found.errors,
      }
    })
    build.onLoad({ filter: /.*/, namespace: 'worker' }, async ({ pluginData: path }) => {
      const { outputFiles } = await build.esbuild.build({
        ...shared,
        entryPoints: [path],
        entryNames: '[name]',
        outdir: dirname(path),
        write: false,
      })
      return { contents: outputFiles[0].contents, loader: 'file' }
    })
  },
}

/**
 * `import address from 'geodata:world'`: the countries, so that a map needs no other host; `geodata:places`: names on
 * it. `geodata:countries`: sample data.
 */
const geodata = {
  name: 'geodata',
  setup(build) {
    build.onResolve({ filter: /^geodata:/ }, ({ path }) => ({
      path: path.replace(/^geodata:(.*)/, '$1.json'),
      namespace: 'geodata',
    }))
    build.onLoad({ filter: /.*/, namespace: 'geodata' }, async ({ path }) => ({
      contents: JSON.stringify(await geodataFiles[path]()),
      loader: 'file',
    }))
  },
}

const geodataFiles = { 'world.json': worldMap, 'places.json': places, 'countries.json': sampleCountries }

/**
 * `import pages from 'guide:pages'`: the documentation for users. The first section of docs/README.md lists its pages.
 */
const guide = {
  name: 'guide',
  setup(build) {
    build.onResolve({ filter: /^guide:/ }, ({ path }) => ({ path, namespace: 'guide' }))
    build.onLoad({ filter: /.*/, namespace: 'guide' }, () => ({
      contents: JSON.stringify(guidePages()),
      loader: 'json',
    }))
  },
}

function guidePages() {
  const [title, , ...sections] = readDoc('README.md').split(/^(## .*)\n/m)
  const list = sections[0].trim()
  const pages = guideFiles().map((path) => [basename(path, '.md'), readDoc(path)])
  return { README: `${title.replace('Documentation', 'Guide')}${list}\n`, ...Object.fromEntries(pages) }
}

function guideFiles() {
  const [, , list] = readDoc('README.md').split(/^(## .*)\n/m)
  return [...list.matchAll(/\]\((.+?\.md)\)/g)].map(([, path]) => path)
}

const readDoc = (path) => readFileSync(join(root, 'docs', path), 'utf8')

function writeWithCompressed(path, contents) {
  writeFileSync(path, contents)
  writeFileSync(`${path}.gz`, gzipSync(contents, { level: 9 }))
  const params = { [constants.BROTLI_PARAM_QUALITY]: 9 }
  writeFileSync(`${path}.br`, brotliCompressSync(contents, { params }))
}

/** The outputs: the page that each is the entry of, what it needs at once, and its sizes. */
function listOutputs(metafile, outputFiles) {
  const sizes = new Map(outputFiles.map(({ path, contents }) => [basename(path), contents]))
  return Object.entries(metafile.outputs).map(([path, { entryPoint, imports, cssBundle }]) => {
    const contents = sizes.get(basename(path))
    return {
      file: basename(path),
      entryPoint,
      stylesheet: cssBundle && basename(cssBundle),
      imports: imports
        .filter(({ kind, external }) => kind === 'import-statement' && !external)
        .map((one) => basename(one.path)),
      bytes: contents.length,
      gzipBytes: gzipSync(contents, { level: 9 }).length,
    }
  })
}

function indexPage(outputs) {
  const { styles, scripts } = tagsOf(outputs, 'console/main.tsx')
  return readFileSync(join(source, 'index.html'), 'utf8')
    .replace('<!-- styles -->', styles)
    .replace('<!-- scripts -->', scripts)
}

/** The service fills in the rest. */
function sharedPage(outputs, what) {
  const { styles, scripts } = tagsOf(outputs, `console/${what}-page/page.tsx`)
  return readFileSync(join(source, 'map.html'), 'utf8')
    .replace('<!-- styles -->', styles)
    .replace('<!-- body -->', `<!-- body -->\n${scripts}`)
}

function tagsOf(outputs, entry) {
  const { imports, stylesheet, file } = outputs.find(({ entryPoint }) => entryPoint === entry)
  const preloads = imports.map((name) => `<link rel="modulepreload" href="/console/assets/${name}">`)
  return {
    styles: `<link rel="stylesheet" href="/console/assets/${stylesheet}">`,
    scripts: `${preloads.join('\n')}\n<script type="module" src="/console/assets/${file}"></script>`,
  }
}
