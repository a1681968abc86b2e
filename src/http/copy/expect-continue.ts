import type { IncomingMessage, Server, ServerResponse } from 'node:http'

/**
 * Node tells a client that sent `Expect: 100-continue` to go ahead before the request is checked. On matching paths
 * this waits for `sendContinue`: a refusal comes before the body, not after it.
 */
export function holdContinue(server: Server, path: RegExp): void {
  if (server.listenerCount('checkContinue') > 0) return
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    if (path.test(request.url!.split('?', 1)[0]!)) held.add(response)
    else response.writeContinue()
    server.emit('request', request, response)
  })
}

/** Asks for the body, if the client waits for that. */
export function sendContinue(response: ServerResponse): void {
  if (held.delete(response)) response.writeContinue()
}

const held = new WeakSet<ServerResponse>()
