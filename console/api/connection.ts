import { signal } from '@preact/signals'
import { browserTransport } from '../../src/client/http/browser-transport.ts'
import { sendForText } from '../../src/client/http/send.ts'
import { serviceAddress } from '../parts/browser/address.ts'

/** False while the service does not answer: the frame then shows a bar. */
export const isReachable = signal(true)

let watch: Promise<void> | undefined

/** Call it when a request got no answer. Resolves when the service answers again. */
export function waitForService(): Promise<void> {
  watch ??= askUntilAnswered().finally(() => {
    watch = undefined
  })
  return watch
}

async function askUntilAnswered(): Promise<void> {
  for (let attempt = 0; !(await isAlive()); attempt++) {
    isReachable.value = false
    await new Promise((resolve) => setTimeout(resolve, Math.min(250 * 2 ** attempt, 3_000)))
  }
  isReachable.value = true
}

function isAlive(): Promise<boolean> {
  return sendForText(anybody, 'isAlive', { signal: AbortSignal.timeout(5_000) }).then(
    () => true,
    () => false,
  )
}

const anybody = {
  baseUrl: serviceAddress,
  authorization: () => undefined,
  transport: browserTransport,
  retries: 0,
  hooks: {},
}
