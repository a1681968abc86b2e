import { readFileSync, writeFileSync } from 'node:fs'

export type ProcessUse = Readonly<{ cpuSeconds: number; peakRssBytes: number }>

// The kernel counts in hundredths of a second on every platform that Linux and Node share.
const ticksPerSecond = 100

/** What a process uses from now until the returned function is called: processor time, and memory at its highest. Linux only. */
export function sampleProcess(pid: number): () => ProcessUse {
  forgetPeak(pid)
  const before = cpuSeconds(pid)
  return () => ({ cpuSeconds: cpuSeconds(pid) - before, peakRssBytes: peakRssBytes(pid) })
}

function cpuSeconds(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond
}

function peakRssBytes(pid: number): number {
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]) * 1024
}

/** The kernel lets a process's own user set its high-water mark back to what it uses now. */
function forgetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5')
}
