package ibv

// sysMembarrier is the number of membarrier(2).
const sysMembarrier = 283
