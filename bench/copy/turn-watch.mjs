import { readFileSync, writeFileSync } from 'node:fs'

// Loaded into the service with NODE_OPTIONS. From the first SIGUSR2 on it checks every few milliseconds how late it is,
// and how its thread spent that time: on a CPU, or waiting for one. At the second signal it writes the longest of each
// to CARTAGE_BENCH_TURNS.
const everyMs = 10

let timer
process.on('SIGUSR2', () => {
  if (timer) {
    clearInterval(timer)
    writeFileSync(process.env.CARTAGE_BENCH_TURNS, JSON.stringify(longest))
  } else timer = setInterval(look, everyMs)
})

const longest = { lateMs: 0, ownMs: 0, waitedMs: 0 }
let last

function look() {
  // Of the main thread alone: nanoseconds on a CPU, and waiting for one.
  const [own, waited] = readFileSync('/proc/self/schedstat', 'utf8').split(' ').map(Number)
  const now = { at: performance.now(), own: own / 1e6, waited: waited / 1e6 }
  if (last) {
    longest.lateMs = Math.max(longest.lateMs, now.at - last.at - everyMs)
    longest.ownMs = Math.max(longest.ownMs, now.own - last.own)
    longest.waitedMs = Math.max(longest.waitedMs, now.waited - last.waited)
  }
  last = now
}
