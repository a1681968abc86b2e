import { formatSql } from './format-sql.ts'

/** Formats one text. A long one takes seconds, so it is not done on the main thread. */
self.onmessage = ({ data }: MessageEvent<string>) => postMessage(formatSql(data) ?? null)
