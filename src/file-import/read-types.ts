import type { ImportFile } from './import-file.ts'
import { type Inference, TypeInference } from './infer-types.ts'

/** What is known of a file after some of its bytes, or all. */
export type FileReading = Readonly<{
  /** Read so far, decompressed. */
  bytes: number
  isWhole: boolean
  inference: Inference
  isEncodingRight: boolean
}>

/** What the beginning of a file tells. */
export function readFirstTypes({ dialect, head }: ImportFile): FileReading {
  const inference = new TypeInference(dialect)
  inference.push(head.subarray(0, head.lastIndexOf(LF) + 1))
  return readingOf(inference, 0, false)
}

/** Reads the whole file, or up to a line that COPY refuses. `onChunk` may ask what is known so far. */
export async function readTypes(
  { dialect, text }: ImportFile,
  onChunk: (soFar: () => FileReading) => void = () => undefined,
): Promise<FileReading> {
  const inference = new TypeInference(dialect)
  let bytes = 0
  for await (const chunk of text()) {
    inference.push(chunk)
    bytes += chunk.length
    if (inference.isOver) break
    onChunk(() => readingOf(inference, bytes, false))
  }
  inference.end()
  return readingOf(inference, bytes, true)
}

const LF = 10

const readingOf = (inference: TypeInference, bytes: number, isWhole: boolean): FileReading => ({
  bytes,
  isWhole,
  inference: inference.result,
  isEncodingRight: inference.isEncodingRight,
})
