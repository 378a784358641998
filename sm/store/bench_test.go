package store

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"
)

// BenchmarkCommit keeps joins of one member each, by so many clients that each
// wait for their own.
func BenchmarkCommit(b *testing.B) {
	for _, clients := range []int{1, 16, 256, 4096} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			s := mustOpen(b, filepath.Join(b.TempDir(), "state.db"), Options{})
			defer mustClose(b, s)
			g := newGroups(b, s)
			g.join(b, 0, 0)
			commit(b, s, g.take())
			free := make(chan struct{}, clients)
			for range clients {
				free <- struct{}{}
			}
			var waiting sync.WaitGroup
			b.ResetTimer()
			for i := range b.N {
				<-free
				g.join(b, 0, 1+i)
				waiting.Add(1)
				err := s.Commit(b.Context(), g.take(), func(r Result) {
					if r.Err != nil {
						b.Error(r.Err)
					}
					waiting.Done()
					free <- struct{}{}
				})
				if err != nil {
					b.Fatal(err)
				}
			}
			waiting.Wait()
		})
	}
}
