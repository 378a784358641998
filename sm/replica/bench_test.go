package replica

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"heddle/sm/store"
)

// BenchmarkCommit keeps batches of one record in the files of a leader and of a
// follower, by so many clients that each wait for their own.
func BenchmarkCommit(b *testing.B) {
	for _, wait := range []int{0, 1} {
		for _, clients := range []int{1, 64, 1024} {
			b.Run(fmt.Sprintf("wait=%d/clients=%d", wait, clients), func(b *testing.B) { benchmarkCommit(b, wait, clients) })
		}
	}
}

func benchmarkCommit(b *testing.B, wait, clients int) {
	ctx, cancel := context.WithCancel(b.Context())
	var running sync.WaitGroup
	leader := twoNodes(ctx, b, wait, &running)
	free := make(chan struct{}, clients)
	for range clients {
		free <- struct{}{}
	}
	done := func(r store.Result) {
		if r.Err != nil || r.Followers < wait {
			b.Errorf("%+v", r)
		}
		free <- struct{}{}
	}
	b.ResetTimer()
	for i := range b.N {
		<-free
		batch := &store.Batch{}
		batch.Put(store.Record{Bucket: "r", Key: fmt.Append(nil, i%1000), Value: make([]byte, 50)})
		if err := leader.Commit(ctx, batch, done); err != nil {
			b.Fatal(err)
		}
	}
	for range clients {
		<-free
	}
	b.StopTimer()
	cancel()
	running.Wait()
}

// twoNodes gives the first of two nodes, which leads.
func twoNodes(ctx context.Context, b *testing.B, wait int, running *sync.WaitGroup) (leader *Node) {
	b.Helper()
	listeners := make([]net.Listener, 2)
	for i := range listeners {
		var err error
		if listeners[i], err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			b.Fatal(err)
		}
	}
	for i, l := range listeners {
		s, err := store.Open(filepath.Join(b.TempDir(), "state.db"), store.Options{})
		if err != nil {
			b.Fatal(err)
		}
		n, err := New(s, Config{
			ID: uint16(i + 1), Secret: testSecret, Peers: []string{listeners[1-i].Addr().String()}, Wait: wait, WaitLimit: time.Minute,
		})
		if err != nil {
			b.Fatal(err)
		}
		if i == 0 {
			leader = n
		}
		running.Go(func() {
			_ = n.Run(ctx, l)
			if err := s.Close(); err != nil {
				b.Error(err)
			}
		})
	}
	if _, err := leader.Lead(ctx); err != nil {
		b.Fatal(err)
	}
	return leader
}
