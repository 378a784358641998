package route

import "sync"

// Parallel runs f on so many goroutines, at least one, and waits for all. A
// panic of one of them becomes the caller's, which can recover from it.
func Parallel(workers int, f func()) {
	var (
		wg   sync.WaitGroup
		once sync.Once
		what any
	)
	guarded := func() {
		defer func() {
			if p := recover(); p != nil {
				once.Do(func() { what = p })
			}
		}()
		f()
	}
	for range max(1, workers) {
		wg.Go(guarded)
	}
	wg.Wait()
	if what != nil {
		panic(what)
	}
}
