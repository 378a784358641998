package ibv

// sysMembarrier is the number of membarrier(2).
const sysMembarrier = 324

// mutexSize is that of libc's pthread_mutex_t.
const mutexSize = 40
