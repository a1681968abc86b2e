import workerName from 'worker:./result-worker.ts'
import { assetAddress } from '../parts/address.ts'

/** A worker takes longer to start than most statements take to run: one is always ready for the next result. */

let spare: Worker | undefined

export function takeWorker(): Worker {
  const taken = spare ?? startWorker()
  taken.onerror = null
  spare = undefined
  setTimeout(prepareWorker, pauseMs)
  return taken
}

/** Starts the one for the next result. */
export function prepareWorker(): void {
  if (spare) return
  const started = startWorker()
  spare = started
  // Its file could not be loaded: the next result tries again, and tells.
  started.onerror = () => {
    if (spare === started) spare = undefined
  }
}

const startWorker = () => new Worker(assetAddress(workerName), { type: 'module', name: 'result' })

/** The result that has just begun comes first. */
const pauseMs = 200
