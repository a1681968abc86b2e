import { randomId } from './random-id.ts'

/**
 * For a request that changes something, by a browser: it sends a POST again when a connection that it had kept breaks
 * before the answer. With this header the service runs it once, and refuses what comes again (`request-repeated`).
 */
export const onlyOnce = () => ({ 'idempotency-key': randomId() })
