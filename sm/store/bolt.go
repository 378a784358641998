package store

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// ErrLocked means that another process, or another Store, has the file.
var ErrLocked = errors.New("another subnet manager uses the file")

// lockWait is how long a lock is waited for that is held for a moment by one
// that looks at the file.
const lockWait = 500 * time.Millisecond

// disk is a backend in a file.
type disk struct{ db *bbolt.DB }

// openDisk opens a file, or makes one that is complete before it has its name.
func openDisk(path string) (*disk, error) {
	_, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = createDisk(path)
	}
	if err != nil {
		return nil, err
	}
	if err := lookAtPages(path); err != nil {
		return nil, err
	}
	db, err := openBolt(path, false)
	if err != nil {
		return nil, err
	}
	d := &disk{db}
	if err := d.view(verifyRecords); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return d, nil
}

// createDisk makes a file with nothing but the version in it.
func createDisk(path string) error {
	fresh, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(fresh.Name()) }()
	if err := fresh.Close(); err != nil {
		return err
	}
	db, err := openBolt(fresh.Name(), false)
	if err != nil {
		return err
	}
	d := &disk{db}
	if err := errors.Join(d.apply([]op{putMeta(keyVersion, formatVersion)}), d.close()); err != nil {
		return err
	}
	// A link does not replace a file that somebody else made meanwhile.
	if err := os.Link(fresh.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// syncDir makes a new name last. Not all systems can, and those that cannot
// need not.
func syncDir(name string) error {
	dir, err := os.Open(name)
	if err != nil {
		return err
	}
	_ = dir.Sync()
	return dir.Close()
}

// lookAtPages holds the pages of a file against each other, with a lock that
// keeps writers out.
func lookAtPages(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	db, err := openBolt(path, true)
	if errors.Is(err, ErrLocked) {
		return err
	}
	if err != nil { // perhaps it can be told better
		return cmp.Or(verifyPages(file, info.Size()), err)
	}
	if info, err = file.Stat(); err == nil {
		err = verifyPages(file, info.Size())
	}
	return errors.Join(err, db.Close())
}

func openBolt(path string, readOnly bool) (db *bbolt.DB, err error) {
	err = guarded(func() error {
		db, err = bbolt.Open(path, 0o600, &bbolt.Options{
			Timeout: lockWait, ReadOnly: readOnly, FreelistType: bbolt.FreelistMapType, NoStatistics: true,
		})
		return err
	})
	switch {
	case errors.Is(err, berrors.ErrTimeout):
		return nil, ErrLocked
	case errors.Is(err, berrors.ErrInvalid), errors.Is(err, berrors.ErrChecksum), errors.Is(err, berrors.ErrVersionMismatch):
		return nil, damagef("not a database: %w", err)
	case err != nil:
		return nil, err
	}
	return db, nil
}

// guarded turns what bbolt does about a damaged page into an error: a panic, or
// a fault where it is mapped to memory but the file has no such page.
func guarded(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = damagef("%v", p)
		}
	}()
	return f()
}

func (d *disk) close() error { return d.db.Close() }

func (d *disk) view(read func(view) error) error {
	return guarded(func() error {
		return d.db.View(func(tx *bbolt.Tx) error { return read(diskView{tx}) })
	})
}

type diskView struct{ tx *bbolt.Tx }

func (v diskView) get(bucket string, key []byte) []byte {
	if b := v.tx.Bucket([]byte(bucket)); b != nil {
		return b.Get(key)
	}
	return nil
}

func (v diskView) each(bucket string, visit func(key, sealed []byte) error) error {
	b := v.tx.Bucket([]byte(bucket))
	if b == nil {
		return nil
	}
	return b.ForEach(visit)
}

func (v diskView) buckets() (names []string) {
	c := v.tx.Cursor()
	for name, _ := c.First(); name != nil; name, _ = c.Next() {
		if string(name) != sumsBucket {
			names = append(names, string(name))
		}
	}
	return names
}

func (d *disk) apply(ops []op) error {
	return guarded(func() error {
		return d.db.Update(func(tx *bbolt.Tx) error {
			w := diskWriter{tx: tx, open: map[string]*summed{}}
			for i := range ops {
				if err := w.apply(&ops[i]); err != nil {
					return err
				}
			}
			return w.finish()
		})
	})
}

// sumsBucket has, by bucket, the number of its values and the sum of their
// checksums.
const sumsBucket = "sums"

// summed is a bucket that is written to.
type summed struct {
	*bbolt.Bucket
	count, sum uint64
}

type diskWriter struct {
	tx   *bbolt.Tx
	open map[string]*summed
}

func (w *diskWriter) bucket(name string) (*summed, error) {
	if s := w.open[name]; s != nil {
		return s, nil
	}
	b, err := w.tx.CreateBucketIfNotExists([]byte(name))
	if err != nil {
		return nil, err
	}
	if name == journalBucket {
		b.FillPercent = 1 // keys come in their order
	}
	s := &summed{Bucket: b}
	if s.count, s.sum, err = storedSums(diskView{w.tx}, name); err != nil {
		return nil, err
	}
	w.open[name] = s
	return s, nil
}

func (w *diskWriter) apply(o *op) error {
	if o.kind == opWipe {
		return w.wipe()
	}
	b, err := w.bucket(o.bucket)
	if err != nil {
		return err
	}
	switch o.kind {
	case opPut:
		return b.put(o.key, o.sealed)
	case opDelete:
		return b.remove(o.key)
	default:
		return b.trim(o.key)
	}
}

func (b *summed) put(key, sealed []byte) error {
	b.account(b.Get(key), -1)
	b.account(sealed, +1)
	return b.Put(key, sealed)
}

func (b *summed) remove(key []byte) error {
	b.account(b.Get(key), -1)
	return b.Bucket.Delete(key)
}

func (b *summed) trim(last []byte) error {
	c := b.Cursor()
	for key, sealed := c.First(); key != nil && bytes.Compare(key, last) <= 0; key, sealed = c.First() {
		b.account(sealed, -1)
		if err := c.Delete(); err != nil {
			return err
		}
	}
	return nil
}

// account adds a value to the sums, or takes it out.
func (b *summed) account(sealed []byte, sign int) {
	if sealed != nil {
		b.count += uint64(sign)
		b.sum += uint64(sign) * uint64(sum(sealed))
	}
}

func (w *diskWriter) wipe() error {
	for _, name := range (diskView{w.tx}).buckets() {
		if name == metaBucket {
			continue
		}
		if err := w.tx.DeleteBucket([]byte(name)); err != nil {
			return err
		}
		delete(w.open, name)
		if err := w.writeSums(name, 0, 0); err != nil {
			return err
		}
	}
	return nil
}

func (w *diskWriter) finish() error {
	for name, b := range w.open {
		if err := w.writeSums(name, b.count, b.sum); err != nil {
			return err
		}
	}
	return nil
}

func (w *diskWriter) writeSums(name string, count, sum uint64) error {
	b, err := w.tx.CreateBucketIfNotExists([]byte(sumsBucket))
	if err != nil {
		return err
	}
	value := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, count), sum)
	return b.Put([]byte(name), seal(sumsBucket, []byte(name), ownVersion, value))
}

// storedSums gives the sums of a bucket as they were written.
func storedSums(v view, name string) (count, sum uint64, err error) {
	sealed := v.get(sumsBucket, []byte(name))
	if sealed == nil {
		return 0, 0, nil
	}
	_, value, err := unseal(sumsBucket, []byte(name), sealed)
	if err != nil || len(value) != 16 {
		return 0, 0, damagef("sums of bucket %q: %w", name, cmp.Or(err, errForm))
	}
	return binary.BigEndian.Uint64(value), binary.BigEndian.Uint64(value[8:]), nil
}

// verifyRecords holds each value against its checksum, and each bucket against
// its sums.
func verifyRecords(v view) error {
	names := map[string]bool{}
	for _, name := range v.buckets() {
		names[name] = true
		if err := verifyBucket(v, name); err != nil {
			return err
		}
	}
	return v.each(sumsBucket, func(name, _ []byte) error {
		count, _, err := storedSums(v, string(name))
		if err == nil && count > 0 && !names[string(name)] {
			err = damagef("bucket %q is not there", name)
		}
		return err
	})
}

func verifyBucket(v view, name string) error {
	var seen summed
	var last []byte
	err := v.each(name, func(key, sealed []byte) error {
		if _, _, err := unseal(name, key, sealed); err != nil {
			return damagef("bucket %q, key %x: %w", name, key, err)
		}
		if last != nil && bytes.Compare(last, key) >= 0 {
			return damagef("bucket %q, key %x: out of order", name, key)
		}
		last = key
		seen.account(sealed, +1)
		return nil
	})
	if err != nil {
		return err
	}
	count, sum, err := storedSums(v, name)
	if err == nil && (count != seen.count || sum != seen.sum) {
		err = damagef("bucket %q has %d values of sum %x, not %d of %x", name, seen.count, seen.sum, count, sum)
	}
	return err
}

// damage is an error that says what is wrong inside a file.
type damage struct{ err error }

func (d *damage) Error() string { return d.err.Error() }
func (d *damage) Unwrap() error { return d.err }

func damagef(format string, args ...any) error { return &damage{fmt.Errorf(format, args...)} }
