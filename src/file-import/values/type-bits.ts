/** The types that a value can have beside text, as bits: those of a column are what all its values have in common. */
export const BOOL = 1
export const BIGINT = 2
export const DOUBLE = 4
export const NUMERIC = 8
/** Numbers with a decimal comma, or with commas between thousands, are the three above, shifted by so many bits. */
export const COMMA = 3
export const POINT = 6
export const DATE = 1 << 10
export const TIMESTAMP = 1 << 11
export const TIMESTAMPTZ = 1 << 12
export const UUID = 1 << 13
export const JSON_TEXT = 1 << 14
export const GEOMETRY = 1 << 15
export const DMY_DATE = 1 << 16
export const DMY_TIME = 1 << 17
export const MDY_DATE = 1 << 18
export const MDY_TIME = 1 << 19
export const BIGINT_ARRAY = 1 << 20
export const DOUBLE_ARRAY = 1 << 21
export const NUMERIC_ARRAY = 1 << 22
export const TEXT_ARRAY = 1 << 23
export const ALL_TYPES = (1 << 24) - 1
