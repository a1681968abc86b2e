import type { IncomingMessage, Server, ServerResponse } from 'node:http'

/**
 * Node tells a client that sent `Expect: 100-continue` to go ahead before the request is checked. On matching paths
 * this waits for `sendContinue`: a refusal comes before the body, not after it.
 */
export function holdContinue(server: Server, path: RegExp): void {
  const paths = pathsOf.get(server) ?? new Map<string, RegExp>()
  pathsOf.set(server, paths.set(path.source, path))
  if (server.listenerCount('checkContinue') > 0) return
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    const asked = request.url!.split('?', 1)[0]!
    if ([...paths.values()].some((each) => each.test(asked))) held.add(response)
    else response.writeContinue()
    server.emit('request', request, response)
  })
}

/** By their source: the routes are there under several prefixes. */
const pathsOf = new WeakMap<Server, Map<string, RegExp>>()

/** Asks for the body, if the client waits for that. */
export function sendContinue(response: ServerResponse): void {
  if (held.delete(response)) response.writeContinue()
}

const held = new WeakSet<ServerResponse>()
