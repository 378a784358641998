package store

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
)

// A value is kept with a seal before it: CRC-32C over bucket, key, version and
// value; then the version.
const sealLen = 4 + 1

var (
	errSeal = errors.New("checksum does not fit")
	errForm = errors.New("not of its form")
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(bucket string, key, versioned []byte) uint32 {
	// The length keeps bucket and key apart, whatever bytes they have.
	sum := crc32.Checksum(append([]byte{byte(len(bucket))}, bucket...), castagnoli)
	sum = crc32.Update(sum, castagnoli, binary.AppendUvarint(nil, uint64(len(key))))
	sum = crc32.Update(sum, castagnoli, key)
	return crc32.Update(sum, castagnoli, versioned)
}

func seal(bucket string, key []byte, version uint8, value []byte) []byte {
	sealed := make([]byte, sealLen, sealLen+len(value))
	sealed[4] = version
	sealed = append(sealed, value...)
	binary.BigEndian.PutUint32(sealed, checksum(bucket, key, sealed[4:]))
	return sealed
}

// sum is the checksum in a seal.
func sum(sealed []byte) uint32 { return binary.BigEndian.Uint32(sealed) }

// unseal gives the version and the value, which is a part of sealed.
func unseal(bucket string, key, sealed []byte) (uint8, []byte, error) {
	if len(sealed) < sealLen || checksum(bucket, key, sealed[4:]) != sum(sealed) {
		return 0, nil, errSeal
	}
	return sealed[4], sealed[sealLen:], nil
}
