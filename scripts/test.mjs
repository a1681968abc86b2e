import { join } from 'node:path'
import { provideHeadlessChromium } from './chromium.mjs'
import { provideFirefox } from './firefox.mjs'
import { prepare } from './prepare.mjs'
import { provideProxies } from './proxies.mjs'
import { Failure, root, run, runScript, say } from './run.mjs'
import { provideShells } from './shells.mjs'

const filters = process.argv.slice(2)
/** A run of named tests should answer fast: types, lint and the build are for the whole suite. */
const isWhole = filters.length === 0
/** A service that starts before the console is built does not serve it. */
const needsBuild = isWhole || filters.some((name) => name.includes('console'))
const projects = ['.', 'console', 'test/console']
const bin = (name) => join(root, 'node_modules/.bin', name)

await runScript(async () => {
  await timed('set-up', async () => {
    await prepare({ needsBuild })
    await provideShells()
    await provideProxies()
    await provideHeadlessChromium()
    await provideFirefox()
  })
  if (isWhole) {
    await timed('types, lint and format', () => all([...projects.map(checkTypes), checkStyle()]))
  }
  // Last, without output after it: the runner's summary is the end of the output.
  return run(process.execPath, ['--import', 'tsx', 'test/run.ts', ...filters], {
    env: { ...process.env, TSX_DISABLE_CACHE: '1' },
  })
})

async function timed(name, step) {
  const start = performance.now()
  await step()
  say(`${name}: ${((performance.now() - start) / 1000).toFixed(1)} s`)
}

/** In parallel, as each uses one core. A failure ends the command after all have reported. */
async function all(checks) {
  await Promise.allSettled(checks)
  await Promise.all(checks)
}

function checkTypes(project) {
  return check(bin('tsc'), ['--noEmit', '--project', project])
}

function checkStyle() {
  return check(bin('biome'), ['ci', ...(process.stdout.isTTY ? [] : ['--colors=off'])])
}

async function check(program, args) {
  const exitCode = await run(program, args)
  if (exitCode !== 0) throw new Failure(`${program} ${args.join(' ')} ended with ${exitCode}`, exitCode)
}
