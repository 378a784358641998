package umad

// KernelRefusal is what Register makes of the kernel's own answer to an agent,
// past the checks that come before.
func KernelRefusal(d Device, a Agent) error {
	l := d.(*linuxDevice)
	if err := l.ioctl(ioctlRegister, a.registration()); err != nil {
		return registerError(l.port, err)
	}
	return nil
}

// CallInfiniBand has a device of an Ethernet port believe that it is one of
// InfiniBand.
func CallInfiniBand(d Device) { d.(*linuxDevice).port.LinkLayer = linkInfiniBand }
