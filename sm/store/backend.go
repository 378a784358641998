package store

import (
	"encoding/binary"
	"strings"
)

// backend keeps sealed values by bucket and key.
type backend interface {
	// apply makes all changes, for good, or none.
	apply(ops []op) error
	// view calls read with a state that does not change meanwhile.
	view(read func(view) error) error
	close() error
}

// view is a state of a backend. What it gives may be used until read returns.
type view interface {
	// get gives a sealed value, nil for none.
	get(bucket string, key []byte) []byte
	// each visits a bucket in the order of the keys.
	each(bucket string, visit func(key, sealed []byte) error) error
	// buckets lists all buckets, in their order.
	buckets() []string
}

// op is a change of a backend.
type op struct {
	kind   opKind
	bucket string
	key    []byte
	sealed []byte
}

type opKind uint8

const (
	opPut    opKind = iota
	opDelete        // bucket, key
	opTrim          // bucket: all keys up to key
	opWipe          // all buckets but meta
)

// The buckets of the store itself. Those of records have recordPrefix before
// their names.
const (
	metaBucket     = "meta"
	snapshotBucket = "snapshot"
	journalBucket  = "journal"
	recordPrefix   = "record/"
)

// The keys in metaBucket.
const (
	keyVersion  = "version"
	keyPosition = "position"
	keyPromise  = "promise"
)

// formatVersion is that of the file. The values of the store's own buckets
// have version 1.
const (
	formatVersion = 1
	ownVersion    = 1
)

func put(bucket string, key []byte, version uint8, value []byte) op {
	return op{kind: opPut, bucket: bucket, key: key, sealed: seal(bucket, key, version, value)}
}

// putMeta writes numbers to metaBucket.
func putMeta(key string, numbers ...uint64) op {
	var value []byte
	for _, n := range numbers {
		value = binary.BigEndian.AppendUint64(value, n)
	}
	return put(metaBucket, []byte(key), ownVersion, value)
}

// numberKey is a key that is in the order of the numbers.
func numberKey(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// recordBucket gives the name of the bucket of records of a backend's bucket.
func recordBucket(bucket string) (string, bool) { return strings.CutPrefix(bucket, recordPrefix) }
