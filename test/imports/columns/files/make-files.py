# Makes the files of this folder with pyarrow 25: python3 make-files.py
import datetime, decimal, gzip, json, struct, uuid
import pyarrow as pa, pyarrow.feather as feather, pyarrow.ipc as ipc, pyarrow.parquet as parquet

point = lambda x, y: struct.pack('<BIdd', 1, 1, x, y)
smallest = -62135596800000000
table = pa.table({
    'i8': pa.array([1, -128, None], pa.int8()), 'u8': pa.array([1, 255, None], pa.uint8()),
    'i16': pa.array([1, -32768, None], pa.int16()), 'u16': pa.array([1, 65535, None], pa.uint16()),
    'i32': pa.array([1, -2147483648, None], pa.int32()), 'u32': pa.array([1, 4294967295, None], pa.uint32()),
    'i64': pa.array([1, -9223372036854775808, None], pa.int64()),
    'u64': pa.array([1, 18446744073709551615, None], pa.uint64()),
    'f32': pa.array([0.1, float('inf'), None], pa.float32()), 'f64': pa.array([1 / 7, float('nan'), None], pa.float64()),
    'f16': pa.array([0.5, 2.0, None], pa.float16()),
    'dec': pa.array([decimal.Decimal('1.10'), decimal.Decimal('-12345678901234567890.12'), None], pa.decimal128(38, 2)),
    'dec256': pa.array([decimal.Decimal('1.10'), decimal.Decimal('-1234567890123456789012345678901234567890.12'), None], pa.decimal256(60, 2)),
    'b': pa.array([True, False, None]), 's': pa.array(['Málaga\t"x"\\n', 'a\nb', None]), 'ls': pa.array(['x', '', None], pa.large_string()),
    'd32': pa.array([datetime.date(2020, 1, 31), datetime.date(1, 1, 1), None], pa.date32()),
    'd64': pa.array([datetime.date(2020, 1, 31), datetime.date(1, 1, 1), None], pa.date64()),
    'ts_us': pa.array([0, smallest, None], pa.timestamp('us')),
    'ts_utc': pa.array([1580464800123456, 1, None], pa.timestamp('us', 'Europe/Berlin')),
    'ts_ns': pa.array([1580464800123456789, 1, None], pa.timestamp('ns')),
    'ts_s': pa.array([1, 2, None], pa.timestamp('s')), 'ts_ms': pa.array([1, -2, None], pa.timestamp('ms')),
    't32': pa.array([1, 2, None], pa.time32('s')), 't64': pa.array([1, 86399999999, None], pa.time64('us')),
    'bin': pa.array([b'\x00\xff', b'a', None]), 'fsb': pa.array([b'1234', b'\x00\x01\x02\x03', None], pa.binary(4)),
    'l': pa.array([[1, None, 3], [], None], pa.list_(pa.int64())),
    'st': pa.array([{'a': 1, 'b': 'x'}, {'a': None, 'b': None}, None]),
    'mp': pa.array([[('k', 1)], [], None], pa.map_(pa.string(), pa.int32())),
    'dict': pa.array(['x', 'y', None]).dictionary_encode(), 'nul': pa.nulls(3),
    'uid': pa.array([uuid.UUID(int=1).bytes, uuid.UUID(int=2).bytes, None], pa.uuid()),
    'fl': pa.array([[1.5, 2.5], [0, 1], None], pa.list_(pa.float64(), 2)),
    'sv': pa.array(['a long string, longer than twelve', 's', None], pa.string_view()),
    'nest': pa.array([[{'a': [datetime.date(2020, 1, 1)]}], [], None]),
})
wkb = pa.array([point(-4.42, 36.72), point(1 / 7, 2 / 7), None], pa.binary())
geo = {'version': '1.0.0', 'primary_column': 'geometry', 'columns': {'geometry': {'encoding': 'WKB', 'geometry_types': ['Point']}}}
geoparquet = table.append_column('geometry', wkb).replace_schema_metadata({'geo': json.dumps(geo)})
parquet.write_table(geoparquet, 'pyarrow.parquet', compression='zstd')
field = pa.field('geometry', pa.binary(), metadata={
    'ARROW:extension:name': 'geoarrow.wkb', 'ARROW:extension:metadata': json.dumps({'crs': 'OGC:CRS84', 'crs_type': 'authority_code'})})
geoarrow = table.append_column(field, wkb)
with ipc.new_file('pyarrow.arrow', geoarrow.schema) as writer:
    writer.write_table(geoarrow.slice(0, 2))
    writer.write_table(geoarrow.slice(2))
with ipc.new_stream('pyarrow.arrows', geoarrow.schema) as writer:
    writer.write_table(geoarrow)
feather.write_feather(geoarrow, 'pyarrow-lz4.feather', compression='lz4')
feather.write_feather(geoarrow, 'pyarrow-zstd.feather', compression='zstd')

# A billion rows of one number in 15 row groups, and one value of 700 MB.
def packed(name):
    with open(name, 'rb') as file, open(f'{name}.gz', 'wb') as out:
        out.write(gzip.compress(file.read(), 9, mtime=0))

many = pa.table({'a': pa.repeat(pa.scalar(7, pa.int64()), 64 * 1024 * 1024)})
with parquet.ParquetWriter('billion-rows.parquet', many.schema, compression='zstd', write_statistics=False, data_page_size=1 << 30) as writer:
    for _ in range(15): writer.write_table(many, row_group_size=64 * 1024 * 1024)
bomb = pa.table({'a': [b'a' * 700_000_000]}, schema=pa.schema([('a', pa.binary())]))
parquet.write_table(bomb, 'bomb.parquet', compression='zstd', compression_level=19, use_dictionary=False, write_statistics=False)
feather.write_feather(bomb, 'bomb.feather', compression='zstd', compression_level=19)
for name in ('billion-rows.parquet', 'bomb.parquet', 'bomb.feather'): packed(name)
