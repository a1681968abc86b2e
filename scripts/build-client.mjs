import { copyFileSync, cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root, runStep } from './run.mjs'

/**
 * Builds the package `cartage-client` into `folder`: only the client, for Node and browsers, as ES modules and as
 * CommonJS, each with types. Its libraries are bundled, so it has no dependencies.
 */
export async function buildClient(folder) {
  const commonJs = join(folder, 'cjs')
  mkdirSync(commonJs, { recursive: true })
  await Promise.all([bundle(folder, 'esm'), bundle(commonJs, 'cjs'), declare(join(folder, 'types'))])
  // In a CommonJS folder a declaration describes CommonJS.
  cpSync(join(folder, 'types'), join(commonJs, 'types'), { recursive: true })
  writeJson(join(commonJs, 'package.json'), { type: 'commonjs' })
  writeJson(join(folder, 'package.json'), describePackage())
  writeFileSync(join(folder, 'README.md'), readme)
  copyFileSync(join(root, 'LICENSE'), join(folder, 'LICENSE'))
  copyFileSync(join(root, 'node_modules/lossless-json/LICENSE.md'), join(folder, 'LICENSE.lossless-json.md'))
  copyFileSync(join(root, 'node_modules/ws/LICENSE'), join(folder, 'LICENSE.ws'))
}

async function bundle(folder, format) {
  const { build } = await import('esbuild')
  const entries = { client: 'node', 'browser-client': 'browser' }
  await Promise.all(
    Object.entries(entries).map(([name, platform]) =>
      build({
        entryPoints: [join(root, 'src/client', `${name}.ts`)],
        outfile: join(folder, `${name}.js`),
        bundle: true,
        charset: 'utf8',
        platform,
        format,
        target: platform === 'node' ? 'node20' : 'es2022',
        // Faster parts of ws, if installed.
        external: ['bufferutil', 'utf-8-validate'],
        ...(platform === 'node' && format === 'esm' && { banner: { js: requireInModules } }),
        logLevel: 'warning',
      }),
    ),
  )
}

/** ws is CommonJS and requires modules of Node. */
const requireInModules = `import { createRequire } from 'node:module'
const require = createRequire(import.meta.url)`

function declare(folder) {
  const compiler = join(root, 'node_modules/typescript/bin/tsc')
  return runStep(process.execPath, [compiler, '--project', 'tsconfig.build.json', '--outDir', folder])
}

/** Its entry points are those of `cartage/client`, which is in the same folder. */
function describePackage() {
  const { version, license, engines, exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const entry = JSON.parse(JSON.stringify(exports['./client']).replaceAll('./dist/client/', './'))
  return {
    name: 'cartage-client',
    version,
    description: 'The typed client of Cartage, for Node and browsers',
    license,
    type: 'module',
    engines,
    sideEffects: false,
    // For tools that do not read exports.
    main: entry.require.default,
    types: entry.require.types,
    exports: { '.': entry, './package.json': './package.json' },
  }
}

const writeJson = (file, value) => writeFileSync(file, `${JSON.stringify(value, null, 2)}\n`)

const readme = `# cartage-client

The typed client of Cartage, for Node (20 or later) and browsers. It needs no other package.

\`\`\`js
import { createClient } from 'cartage-client'

const client = createClient({ baseUrl: 'http://127.0.0.1:8080', username: 'alice', token: process.env.CARTAGE_API_KEY })
const { rows } = await client.sql\`select name from airports where id = \${1}\`
\`\`\`

The guide is the page docs/guide/client.md of Cartage.
`
