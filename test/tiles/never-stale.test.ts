import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { test } from 'node:test'
import { seededRandom } from '../../chaos/random.ts'
import { setup } from '../support/service/setup.ts'
import { TileWorld } from '../support/tiles/tile-world.ts'

const seed = Number(process.env.CARTAGE_TEST_SEED) || randomInt(2 ** 31)
const steps = Number(process.env.CARTAGE_TEST_TILE_STEPS ?? 100)

test('no tile is stale or forbidden after any sequence of writes, DDL, revokes and new tokens through two processes', async (t) => {
  t.diagnostic(`CARTAGE_TEST_SEED=${seed} CARTAGE_TEST_TILE_STEPS=${steps}`)
  const world = new TileWorld(await setup(t), seededRandom(seed))
  await world.open(t)
  for (let step = 1; step <= steps; step += 1) {
    await world.step(step)
    if (step % 1000 === 0) t.diagnostic(`${step} steps`)
  }
  t.diagnostic(`${world.reads} reads, of these ${world.unchanged} answered with 304`)
  assert.ok(world.reads > steps && world.unchanged > 0)
})
