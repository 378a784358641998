package format

// formats is the registry: a format is one file and one line. The order is
// that of detection.
var formats = []Format{
	jsonFormat,
	subnetLst,
	ibnetdiscover,
	ibsimNet,
	dot,
	slurm,
}
