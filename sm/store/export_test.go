package store

import "go.etcd.io/bbolt"

// rawPut writes a value and leaves the sums alone.
func rawPut(bucket string, key, sealed []byte) func(*bbolt.Tx) error {
	return func(tx *bbolt.Tx) error { return tx.Bucket([]byte(bucket)).Put(key, sealed) }
}
