/**
 * Resolves in a later turn of the event loop. Only one caller continues in each turn, so that long work does not pile
 * up.
 */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(serve)
  })
}

const waiting: (() => void)[] = []

function serve(): void {
  const goOn = waiting.shift()!
  if (waiting.length > 0) setImmediate(serve)
  goOn()
}
