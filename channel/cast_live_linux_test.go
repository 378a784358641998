package channel

import (
	"encoding/binary"
	"errors"
	"syscall"
	"testing"
	"time"
)

// TestEvictProcesses has 64 processes read what one sends, and stops one of them: it
// is evicted, learns that when it goes on, and all others read all.
func TestEvictProcesses(t *testing.T) {
	if onKernel() {
		t.Skip("64 processes take too long on an emulated machine")
	}
	for _, kind := range casts() {
		t.Run(kind.Name, func(t *testing.T) { evictLive(t, kind) })
	}
}

func evictLive(t *testing.T, kind *Kind) {
	const readers, stopped = manyProcesses, 7
	dev, err := openLive()
	must(t, err)
	defer dev.Close()
	tr, err := NewTransport(dev)
	must(t, err)
	s, err := tr.NewSender(kind, Config{Peers: readers, Slots: 64, Ring: 64 << 10, Evict: time.Second})
	must(t, err)
	list := members(t, kind, s, readers)
	sent := uint64(0)
	send := func(count int) {
		for range count {
			l, err := s.Reserve(t.Context(), 200)
			must(t, err)
			binary.LittleEndian.PutUint64(l.Bytes(), sent)
			must(t, l.Commit(200))
			sent++
		}
	}
	send(500)
	must(t, list[stopped].cmd.Process.Signal(syscall.SIGSTOP))
	start := time.Now()
	send(1500) // several laps of the ring
	t.Logf("1500 messages took %v, with a reader that was evicted", time.Since(start))
	must(t, list[stopped].cmd.Process.Signal(syscall.SIGCONT))
	must(t, s.Flush(t.Context()))
	for i, m := range list {
		n, said := m.end(t)
		if i == stopped && said != "lagged" || i != stopped && (said != "ok" || n != sent) {
			t.Errorf("reader %d: %d messages of %d: %s", i, n, sent, said)
		}
	}
	if err := s.Close(); err != nil && !errors.Is(err, ErrPeerGone) {
		t.Error(err)
	}
}
