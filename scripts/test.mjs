import { join } from 'node:path'
import { provideHeadlessChromium } from './chromium.mjs'
import { provideGdal } from './gdal.mjs'
import { prepare } from './prepare.mjs'
import { Failure, root, run, runScript, say } from './run.mjs'
import { provideShells } from './shells.mjs'

const filters = process.argv.slice(2)
/** Whoever names a test wants its answer now: types, lint and the build are for the whole. */
const isWhole = filters.length === 0
const bin = (name) => join(root, 'node_modules/.bin', name)

await runScript(async () => {
  await timed('set-up', async () => {
    await prepare({ needsBuild: isWhole })
    await provideGdal()
    await provideShells()
    await provideHeadlessChromium()
  })
  if (isWhole) {
    await timed('types', async () => {
      for (const project of ['.', 'console', 'test/console']) {
        await check(bin('tsc'), ['--noEmit', '--project', project])
      }
    })
    await timed('lint and format', () =>
      check(bin('biome'), ['ci', ...(process.stdout.isTTY ? [] : ['--colors=off'])]),
    )
  }
  // Last, and without a word after it: the runner's summary closes the output.
  return run(process.execPath, ['--import', 'tsx', 'test/run.ts', ...filters], {
    env: { ...process.env, TSX_DISABLE_CACHE: '1' },
  })
})

async function timed(name, step) {
  const start = performance.now()
  await step()
  say(`${name}: ${((performance.now() - start) / 1000).toFixed(1)} s`)
}

async function check(program, args) {
  const exitCode = await run(program, args)
  if (exitCode !== 0) throw new Failure(`${program} ${args.join(' ')} ended with ${exitCode}`, exitCode)
}
