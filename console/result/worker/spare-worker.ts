import workerName from 'worker:./result-worker.ts'
import { assetAddress } from '../../parts/browser/address.ts'

/** Starting a worker takes longer than most statements, so a spare one is always ready. */

let spare: Worker | undefined

export function takeWorker(): Worker {
  const taken = spare ?? startWorker()
  taken.onerror = null
  spare = undefined
  setTimeout(prepareWorker, pauseMs)
  return taken
}

/** Starts the worker for the next result. */
export function prepareWorker(): void {
  if (spare) return
  const started = startWorker()
  spare = started
  // The file of the worker could not be loaded: the next result tries again and shows the error.
  started.onerror = () => {
    if (spare === started) spare = undefined
  }
}

const startWorker = () => new Worker(assetAddress(workerName), { type: 'module', name: 'result' })

/** Gives the result that has just started priority. */
const pauseMs = 200
