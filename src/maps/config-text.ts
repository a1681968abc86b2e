import { setImmediate as turn } from 'node:timers/promises'
import { errors } from '../errors.ts'

/** For the text of an error. An object may have a toString of its own, which is no function. */
export function shortened(value: unknown): string {
  if (Array.isArray(value)) return value.slice(0, 20).map(shortened).join(',').slice(0, 100)
  return (typeof value === 'object' && value !== null ? 'an object' : String(value)).slice(0, 100)
}

/** The JSON text of a config. Throws if it is longer than `most`, or so deep that reading it could overflow the stack. */
export function textOfConfig(value: unknown, most: number): string {
  const text = jsonOf(value)
  if (text.length > most) throw errors.mapInvalid(`The map config is longer than ${most} characters`)
  if (depthOf(text) > deepest) throw tooDeep()
  return text
}

/** Lets others have the event loop: what was just parsed may have taken long, and to read it takes as long again. */
export const letOthersIn = () => turn()

/** How deep a JSON text is nested. Character by character: it may have a hundred thousand brackets. */
function depthOf(text: string): number {
  let depth = 0
  let most = 0
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at]
    if (character === '"') at = endOfString(text, at)
    else if (character === '[' || character === '{') most = Math.max(most, ++depth)
    else if (character === ']' || character === '}') depth -= 1
  }
  return most
}

function endOfString(text: string, start: number): number {
  let at = start + 1
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1
  return at
}

function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? ''
  } catch (error) {
    if (error instanceof RangeError) throw tooDeep()
    throw error
  }
}

const tooDeep = () => errors.mapInvalid(`The config is nested deeper than ${deepest} levels`)
const deepest = 100
