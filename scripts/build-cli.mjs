import { createHash } from 'node:crypto'
import { chmodSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { oneAtATime } from './one-at-a-time.mjs'
import { root, say } from './run.mjs'

const name = 'cartage-cli.mjs'
const stampName = 'cartage-cli.sources.sha256'

/** Builds only dist/cartage-cli.mjs, if its sources have changed: for development and tests. */
export async function provideCli() {
  if (isCliBuilt()) return
  await oneAtATime(async () => {
    if (isCliBuilt()) return
    say(`building dist/${name}`)
    mkdirSync(join(root, 'dist'), { recursive: true })
    await buildCli(join(root, 'dist'))
  })
}

/** Bundles the command line for people into one executable file, which needs only Node. */
export async function buildCli(folder) {
  const { build } = await import('esbuild')
  const stamp = hashSources()
  const draft = join(folder, `${name}.new`)
  await build({
    entryPoints: [join(root, 'src/cli/user/entry.ts')],
    outfile: draft,
    bundle: true,
    charset: 'utf8',
    legalComments: 'none',
    platform: 'node',
    format: 'esm',
    target: 'node20',
    banner: { js: `#!/usr/bin/env node\n${commonJs}` },
    plugins: [versionInside],
    logLevel: 'warning',
  })
  chmodSync(draft, 0o755)
  renameSync(draft, join(folder, name))
  writeFileSync(join(folder, stampName), stamp)
}

/** What the WebSocket library, which is CommonJS, needs. */
const commonJs = `import { createRequire as makeRequire } from 'node:module'
const require = makeRequire(import.meta.url)`

/** The file is copied to other machines: there is no package.json beside it. */
const versionInside = {
  name: 'version-inside',
  setup({ onLoad }) {
    onLoad({ filter: /\/src\/files\/package-file\.ts$/ }, () => {
      const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
      return { contents: `export const readVersion = () => ${JSON.stringify(version)}` }
    })
  },
}

function isCliBuilt() {
  try {
    readFileSync(join(root, 'dist', name))
    return readFileSync(join(root, 'dist', stampName), 'utf8') === hashSources()
  } catch {
    return false
  }
}

function hashSources() {
  const hash = createHash('sha256')
  const sources = ['cli', 'client', 'contract', 'file-import', 'sql-text']
    .flatMap((part) =>
      readdirSync(join(root, 'src', part), { recursive: true }).map((path) => join('src', part, path)),
    )
    .filter((path) => path.endsWith('.ts'))
  for (const path of [
    'package.json',
    'src/config/config.ts',
    'src/config/known-variables.ts',
    'src/config/config-variables.ts',
    ...sources.sort(),
  ]) {
    hash.update(`${path}\0`).update(readFileSync(join(root, path)))
  }
  return hash.digest('hex')
}
