import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Frame } from '../frame/frame.ts'
import { ProcessSampler } from '../frame/process-use.ts'
import { type Field, kinds, openField } from './field.ts'

// Memory with 2 GB each way and over twenty runs, and the longest stop of the event loop with eight concurrent copies:
// node --import tsx bench/copy/limits.ts [megabytes]
const megabytes = Number(process.argv[2] ?? 2000)
const down = 'curl -s -o /dev/null "$to"'
const downGzip = `${down} -H "Accept-Encoding: gzip"`
const up = 'curl -s -X POST -T source.csv -H "Transfer-Encoding: chunked" "$from"'
const upGzip = 'curl -s -X POST -T source.csv.gz -H "Content-Encoding: gzip" "$from"'

const frame = new Frame()
try {
  const turns = join(await frame.makeFolder(), 'turns.json')
  const field = await openField(frame, kinds.wide, megabytes, ['rows', 'files'], {
    NODE_OPTIONS: `--import ${join(import.meta.dirname, 'turn-watch.mjs')}`,
    CARTAGE_BENCH_TURNS: turns,
  })
  await field.shell(down)
  await memoryOfEach(field)
  await memoryOfTwenty(field)
  await lagOfEight(field, turns)
} finally {
  await frame.close()
}

async function memoryOfEach(field: Field): Promise<void> {
  const ways = {
    'copyto plain': down,
    'copyto gzip': downGzip,
    'copyfrom plain': up,
    'copyfrom gzip': upGzip,
  }
  for (const [name, command] of Object.entries(ways)) {
    await field.sql('truncate public.target')
    const sampler = new ProcessSampler(field.pid, 10)
    await field.shell(command)
    const { rssGrowthMb, peakRssMb, cpuSeconds } = sampler.stop()
    console.log(
      `${name}, ${megabytes} MB: RSS grew by ${rssGrowthMb.toFixed(0)} MB to ${peakRssMb.toFixed(0)} MB, ${cpuSeconds.toFixed(2)} CPU-s`,
    )
  }
}

async function memoryOfTwenty(field: Field): Promise<void> {
  const peaks: number[] = []
  for (let run = 0; run < 20; run += 1) {
    const sampler = new ProcessSampler(field.pid, 10)
    await field.shell(`${down} --max-time 3 || true`)
    peaks.push(Math.round(sampler.stop().peakRssMb))
  }
  console.log(`peak RSS of twenty copyto in a row: ${peaks.join(' ')} MB`)
}

async function lagOfEight(field: Field, turns: string): Promise<void> {
  await field.sql('truncate public.target')
  process.kill(field.pid, 'SIGUSR2')
  const eight = [down, downGzip, up, upGzip].flatMap((command) => [command, command])
  await field.shell(`${eight.map((command) => `{ ${command} --max-time 20 || true; } &`).join(' ')} wait`)
  process.kill(field.pid, 'SIGUSR2')
  await sleep(1_000)
  const { ownMs, waitedMs, lateMs } = JSON.parse(await readFile(turns, 'utf8'))
  console.log(
    `event loop with eight copies: busy for ${ownMs.toFixed(0)} ms at most between two looks, ` +
      `${waitedMs.toFixed(0)} ms at most without a CPU, late by ${lateMs.toFixed(0)} ms at most`,
  )
}
