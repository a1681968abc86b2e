import { prepare } from './prepare.mjs'
import { run, runScript } from './run.mjs'

const [word, ...rest] = process.argv.slice(2)

await runScript(async () => {
  await prepare()
  return word === 'tiles' ? runTiles(rest) : runTsx(['chaos/run.ts', ...process.argv.slice(2)])
})

/** `tiles [--steps N] [--seed N]`: random changes beside requests for tiles, through two processes. */
function runTiles(args) {
  const option = (name) => (args.includes(name) ? args[args.indexOf(name) + 1] : undefined)
  const seed = option('--seed')
  return runTsx(['test/tiles/never-stale.test.ts'], {
    CARTAGE_TEST_TILE_STEPS: option('--steps') ?? '10000',
    ...(seed && { CARTAGE_TEST_SEED: seed }),
  })
}

function runTsx(args, env = {}) {
  return run(process.execPath, ['--import', 'tsx', ...args], { env: { ...process.env, ...env } })
}
