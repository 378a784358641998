package store

import (
	"bytes"
	"maps"
	"slices"
	"sync"
)

// memory is a backend that forgets.
type memory struct {
	mu   sync.RWMutex
	data memoryView // guarded by mu
}

type memoryView map[string]map[string][]byte

func newMemory() *memory { return &memory{data: memoryView{}} }

func (m *memory) close() error { return nil }

func (m *memory) view(read func(view) error) error {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return read(m.data)
}

func (m *memory) apply(ops []op) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range ops {
		m.data.apply(&ops[i])
	}
	return nil
}

func (d memoryView) apply(o *op) {
	switch o.kind {
	case opPut:
		if d[o.bucket] == nil {
			d[o.bucket] = map[string][]byte{}
		}
		d[o.bucket][string(o.key)] = o.sealed
	case opDelete:
		delete(d[o.bucket], string(o.key))
	case opTrim:
		maps.DeleteFunc(d[o.bucket], func(key string, _ []byte) bool { return key <= string(o.key) })
	case opWipe:
		maps.DeleteFunc(d, func(bucket string, _ map[string][]byte) bool { return bucket != metaBucket })
	}
}

func (d memoryView) get(bucket string, key []byte) []byte { return d[bucket][string(key)] }

func (d memoryView) each(bucket string, visit func(key, sealed []byte) error) error {
	for _, key := range slices.Sorted(maps.Keys(d[bucket])) {
		if err := visit([]byte(key), bytes.Clone(d[bucket][key])); err != nil {
			return err
		}
	}
	return nil
}

func (d memoryView) buckets() []string { return slices.Sorted(maps.Keys(d)) }
